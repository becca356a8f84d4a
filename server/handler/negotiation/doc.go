// Package negotiation chooses the media type of a response, and recognizes the one of a body.
//
// What comes in: a request's Accept or Content-Type header, the available serializers, and the restrictions of the
// endpoint. What goes out: the serializer to use, plus the parameters of the media type, such as as=Table, or an error
// that carries a 406 or a 415 Status.
package negotiation
