// Package refusal says why a request was refused: what it ran into, who had put that there, and what can be done.
//
// What comes in are the journey of the request and those of others ([Related] picks them). What goes out is a [Card]
// for the screen, the story and the prompt.
//
// # Invariants
//
//  1. A card says only what journeys have. Where the requests that would tell more are no longer known, it says that.
//  2. The step that refused is the last that failed and called none that failed. Of several webhooks or policies it is
//     the one whose error the client got.
//  3. Texts have what clients wrote as it is in the journey: whoever shows them escapes them.
package refusal
