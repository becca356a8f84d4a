// Package podtemplate is the resource podtemplates: templates of pods that others may refer to.
package podtemplate
