// Package blame finds the step of a journey that gave a field of an object its value.
//
// What comes in is a journey that was recorded with objects. What goes out is, for one field, all steps that changed
// it, and, for the journey or one step, each changed field with the one step that is to blame. The package has no
// state.
//
// # Rules
//
//  1. A step is to blame if no step that it called is.
//  2. Where the storage takes over the client's object (store.try-update, rest.create and the like), the sender is to
//     blame for each field that still has the value that was sent.
//  3. Steps of an abandoned attempt are not to blame.
//  4. A change that no recorded step explains is reported as unexplained.
package blame
