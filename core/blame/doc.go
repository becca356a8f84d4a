// Package blame finds the step of a journey that gave a field of an object its value.
//
// What comes in is a journey whose steps have the object before and after them; what goes out are, for one field, all
// steps that changed it, and for the whole journey or one step, each field that changed with the one step that is to
// blame. It is pure.
//
// # Rules
//
//  1. A step is to blame if none of those that it called is.
//  2. Where the storage takes over what a client sent (store.try-update, rest.create and their like), whoever sent it is to
//     blame for what is as it was sent.
//  3. Steps of an attempt that was given up are to blame for nothing in what came of the journey.
//  4. What no recorded step explains is said to be unexplained: nobody is blamed for it.
package blame
