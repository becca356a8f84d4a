// Package rest defines the methods of a resource that a handler may call.
//
// It owns the contracts between server/handler (the caller) and a resource's storage (the answerer): one small
// interface a verb, joined in [StandardStorage], and the strategies by which a resource describes its peculiarities.
// A storage offers a verb by implementing its interface; the installer in server/endpoint is the one place that looks.
//
// What comes in is a request's context (namespace, user and request info are in it, as k8s.io/apiserver's
// endpoints/request puts them there), a name, an object and the verb's options. What goes out is an object in the
// resource's one storage version, or an error that carries a metav1.Status. Conversion to and from the version of the
// request happens above, in the handler.
//
// Get, List and Watch return decoded objects. A storage that has the bytes of its objects is also an [EncodedGetter],
// [EncodedLister] and [EncodedWatcher], which the handlers prefer. What Create, Update and DeleteCollection return may
// be encoded: object.Own and object.Decoded decode it.
//
// The names are the Kubernetes API server's.
package rest
