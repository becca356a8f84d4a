// Package mask removes secrets from what kx keeps about requests: journeys, the audit log, logs, and the caches and
// keys that kx.dev shows.
//
// What comes in is an object, an error, a URI or a field selector. What goes out is the same without its secrets.
// Answers to clients do not pass through here.
//
// # The rule
//
//  1. A request is confidential because of its resource ([Confidential]), not of its body: Secrets, TokenReviews,
//     tokens of service accounts, and commands to held requests, which can edit any object.
//  2. [Object] keeps only listed fields of a confidential request's objects. Values of data, stringData and annotations
//     become their lengths. Names of keys in data stay, as in kubectl describe.
//  3. [Error] keeps the code and reason of a confidential request's error. It keeps the message only if the reason
//     shows that the server composed it from resource and name. Of a denial by a webhook or a policy it keeps the code:
//     they choose the reason, and may quote the object.
//  4. An object is also masked because of its type: a Secret, a TokenReview or a TokenRequest in any request, also
//     inside a List or another object.
//  5. [URI] keeps the parameters that the API knows, since any other may be a token. [Selector] keeps the values of
//     listed fields.
//  6. What a policy with Secrets as params says goes to the client alone ([ForClient]), as does an error that quotes a
//     body.
//  7. Of headers, only User-Agent, Content-Type and Audit-Id are kept.
//
// No other code masks. core/trace calls these functions when something enters a journey, and server/audit when an event
// leaves for the log. A capture, an export, a watch of journeys and a screen show what is masked already.
package mask
