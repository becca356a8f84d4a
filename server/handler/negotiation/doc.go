// Package negotiation finds the media type in which a client wants its answer, and the one in which it sent its body.
//
// What comes in: a request's Accept or Content-Type header, the serializers there are, and what the endpoint allows.
// What goes out: the serializer to use, with what else the client asked for in the media type's parameters (such as
// as=Table), or an error that carries a 406 or a 415 Status.
package negotiation
