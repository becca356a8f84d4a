// Package core declares the resources of the group without a name. Pods and services have packages of their own below
// it. Code that several resources share is there too: core/podspec.
package core
