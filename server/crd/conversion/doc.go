// Package conversion converts custom resources from one version of their CRD to another.
//
// It owns the two strategies that a CRD can name: None changes only the apiVersion, Webhook calls an HTTPS
// server of the CRD's author. In come an object or a list, the context of the request, and the wanted version.
// Out goes the same object in that version, or an error in the words of the Kubernetes API server.
//
// The library's own converter takes no context: its calls outlive their requests, and journeys could not show
// them. This package uses the library's metrics and its client manager, so that it reaches webhooks in the same
// way.
//
// # Invariants
//
//  1. The input is not changed. A converted object shares no memory with it.
//  2. One call of [Converter.Convert] makes at most one call of the webhook, however long the list. Objects in
//     the wanted version are not sent, and are returned unchanged.
//  3. A webhook can change labels and annotations. All other metadata stays, whatever the webhook answers. An
//     answer with another name, namespace, UID or kind is refused.
//  4. A call ends with its context, and after the library's 30 seconds at the latest. A failed webhook is not
//     called again for the same request, unless it answers 429 or 5xx with a time to retry after.
//  5. Objects are sent only to the URL that the CRD names: a redirect is an error. After a failed call, the
//     client sees only the status code.
package conversion
