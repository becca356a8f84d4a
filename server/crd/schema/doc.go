// Package schema is all that the schema of one version of a CustomResourceDefinition does to an object.
package schema
