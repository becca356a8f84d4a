// Package zpages answers /statusz and /flagz: which server this is, since when it runs, and with which flags.
//
// In come facts about the server. Out goes text for people, or an object of config.k8s.io as JSON or YAML for a client
// that asks for exactly that kind, as in "application/json;g=config.k8s.io;v=v1beta1;as=Statusz". Both are those of
// Kubernetes 1.37, whose text has no form that a program may rely on.
package zpages
