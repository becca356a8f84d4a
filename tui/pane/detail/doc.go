// Package detail is the pane about one step and its request. Its tabs show the step itself, the changes of the object
// with the step that made each, the source that ran, the object, the requests to etcd, the timing, the watchers that
// got the event, and the request.
//
// It owns the open tab, its scroll position, and a cursor among the lines with links: to a step, to a source line, to
// another screen. Lines are made once for each step and width, not for each frame. Changed fields have a mark in the
// text: + added, - removed. Where the pane is wide enough, Diff and Source are side by side.
//
// The pane does no I/O: it names the source file and the cache that it wants, and its user supplies them.
package detail
