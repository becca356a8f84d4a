package trace

// NoResourcePath is given by the filters and by the handler of custom resources, which share no package of their own.
var NoResourcePath = Because("no-resource-path", "the path does not name a resource", "路径中没有资源")

// Reasons lists the reasons that are declared here. Every other package that gives some lists its own.
func Reasons() []Reason { return []Reason{NoResourcePath} }
