// Package configmap is the resource configmaps: small data for programs, which may be declared immutable.
package configmap
