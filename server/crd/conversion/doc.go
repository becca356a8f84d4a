// Package conversion brings custom resources from one version of their CRD into another.
//
// It owns the two strategies that a CRD can name: None changes apiVersion alone, Webhook asks an HTTPS server of the
// CRD's author. What comes in: an object or a list with the context of the request, and the version that is wanted. What
// goes out: the same object in that version, or an error in the words of the Kubernetes API server.
//
// The library has a converter too, but one that knows no context: its calls outlive the requests that they are made for,
// and no journey could show them. Its metrics are used, and its client manager, so that a webhook is reached as any other.
//
// # Invariants
//
//  1. What comes in is not changed, nor does it share memory with what goes out that is not in the wanted version.
//  2. One call of [Converter.Convert] is at most one call of the webhook, however long the list. Objects that are in the
//     wanted version already are not sent, and come back as they are.
//  3. A webhook can change labels and annotations. All other metadata is what it was, whatever the webhook answers; an
//     answer with another name, namespace, UID or kind is refused.
//  4. A call ends with its context, and after the 30 seconds of the library's client at the latest. A webhook that fails is
//     not asked again for the same request, unless its answer is a 429 or a 5xx that says when to come back.
//  5. Objects go to the URL that the CRD names, and nowhere else: a redirect is an error. Of an answer that is no success,
//     only the status code is passed on.
package conversion
