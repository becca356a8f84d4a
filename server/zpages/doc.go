// Package zpages serves /statusz and /flagz: the server's version, its start, and its flags.
//
// In come facts about the server. Out goes text for people, or an object of config.k8s.io as JSON or YAML for a
// client that requests exactly that kind, as in "application/json;g=config.k8s.io;v=v1beta1;as=Statusz". Both
// follow Kubernetes 1.37. The format of the text is not stable: programs must not rely on it.
package zpages
