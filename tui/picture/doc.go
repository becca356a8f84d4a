// Package picture is the screen Picture: the layers of the server as boxes from the client to etcd, and one request
// that walks them stop by stop, to be read from far away. It opens above the others.
//
// It takes a journey; core/story makes the walk. At each stop stand a sentence, the few lines of code of which one
// decided, what the request carried there and what came back.
//
// Colours are never the only sign: boxes that the request touched have heavy lines, others are dashed, and the box of
// the stop has a dot below it.
package picture
