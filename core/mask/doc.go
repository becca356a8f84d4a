// Package mask takes what is secret out of what kx keeps of requests: journeys, the audit log, logs, caches and keys as
// kx.dev shows them.
//
// What comes in is an object, an error, a URI or a field selector. What goes out is the same without what is secret.
// Answers to clients never pass through here: who sent a secret may see it again.
//
// # The rule
//
//  1. A request is confidential by its resource ([Confidential]), whatever its body says it is: Secrets, TokenReviews,
//     tokens of service accounts, and commands to held requests, which edit any object.
//  2. Of a confidential request's objects, [Object] shows what a list of fields allows. Values of data, stringData and
//     annotations become their lengths. Names of keys in data stay, as kubectl describe shows them.
//  3. Of a confidential request's errors, [Error] shows the code and the reason, and the message only where its reason
//     says that the server composes it of resource and name alone.
//  4. An object is masked by its type too: a Secret, a TokenReview or a TokenRequest in any request, also inside a List
//     or inside another object.
//  5. Of every request's URI, [URI] shows the parameters that the API knows. Any other parameter may be a token. Of field
//     selectors, [Selector] shows the values of the fields in a list.
//  6. Headers are not kept, but for User-Agent, Content-Type and Audit-Id.
//
// Each of the four functions is the only one of its kind. core/trace calls them when something enters a journey, and
// server/audit when an event leaves for the log. A capture, an export, a watch of journeys or a screen shows what they
// left, and so has nothing to mask.
package mask
