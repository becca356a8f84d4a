// Package upstream compares store/transform with the transformers of a kube-apiserver: what one writes the other reads,
// and both are of one opinion about configuration files. It is a module of its own, so that kx does not depend on them.
//
//	go test ./...                     compares
//	go test -run Golden -rewrite ./   records ../values.json, the values that the normal tests of store/transform read
package upstream
