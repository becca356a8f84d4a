// Package history checks what clients saw of a server against what its etcd did.
//
// What comes in is a History: the operations of all clients with the times of call and return, lists, watches, and etcd's
// own log of changes. What goes out are violations. Nothing here runs a server or looks at a clock, so a history that was
// altered on purpose must fail, and a test alters one in every way that a checker is for.
package history
