// Package refusal explains why a request was refused: what it ran into, who had put that there, and what can be done.
//
// What comes in are the journey of the request and those of others ([RelatedRequests] picks them). What goes out is a
// [Card] for the screen, the story and the prompt.
//
// # Invariants
//
//  1. A card says only what journeys record. If the requests that would explain more are gone, it says that.
//  2. The refusing step is the last one that failed and called no other failing step. Of several webhooks or policies
//     it is the one whose error the client got.
//  3. Texts contain clients' words unescaped, as the journey does: the caller that prints them escapes them.
package refusal
