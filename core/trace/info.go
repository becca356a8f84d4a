package trace

import (
	"slices"
	"strings"
	"sync"
)

// Layer is the floor of the house on which a step happens.
type Layer uint8

// The layers, from the socket down.
const (
	LayerFilter Layer = iota
	LayerHandler
	LayerREST
	LayerStore
	LayerDryRun
	LayerCacher
	LayerEtcd3
	LayerTransform
	LayerEtcd
)

// layers have a name each, and the lane in which pictures of a journey draw them, as an index of [Lanes].
var layers = [...]struct {
	name string
	lane int
}{
	{"filter", 0}, {"handler", 0}, {"rest", 1}, {"store", 2}, {"dryrun", 2},
	{"cacher", 3}, {"etcd3", 4}, {"transform", 4}, {"etcd", 5},
}

// Lanes are the initials of the lanes, from the client's side to etcd's: K is the last, for etcd's keys.
const Lanes = "HRSCEK"

func (l Layer) String() string { return layers[l].name }

// Layers are the names of the layers, from the socket down.
func Layers() []string {
	names := make([]string, len(layers))
	for i := range layers {
		names[i] = layers[i].name
	}
	return names
}

// LaneOf finds the lane of a layer by its name.
func LaneOf(layer string) (lane int, ok bool) {
	for _, l := range layers {
		if l.name == layer {
			return l.lane, true
		}
	}
	return 0, false
}

// ID names a step that can occur. Errors, breakpoints, docs and the screen use its String.
type ID uint16

// Info is what is known of a step before it happens.
type Info struct {
	// Name is the step's ID in words, such as "etcd3.get".
	Name  string
	Layer Layer
	Title string
	// Upstream is the function that does the same in the Kubernetes API server, or etcd's that is called.
	Upstream Upstream
	// Mark says that it happens on a goroutine shared by requests: it can't be held.
	Mark bool
	// Fails says that the step can be made to fail: it asks for its Err before it does anything.
	Fails bool
	// Edits says that the step knows the request's own object, which can be edited while the step is held.
	Edits bool
	// Waits says that the step does nothing but wait for others' work: its own time is no work of the request.
	Waits bool
	// PerVerb says that each verb has such a step of its own. Two journeys are aligned at the steps of one layer that do.
	PerVerb bool
	// Object is what the step does to the object on its way.
	Object Object
}

// Upstream is a function that somebody read.
type Upstream struct {
	// Symbol is the function, method or type. File is where it is in the repository of kubernetes/kubernetes or etcd-io/etcd.
	Symbol, File string
	// Release is the one that it was read in.
	Release string
}

const (
	staging           = "staging/src/k8s.io/"
	kubernetesRelease = "v1.37"
	etcdRelease       = "v3.7"
)

// kubernetes is a function of one of the modules that kubernetes/kubernetes publishes.
func kubernetes(symbol, file string) Upstream {
	return Upstream{Symbol: symbol, File: staging + file, Release: kubernetesRelease}
}

// etcd is a function of etcd.
func etcd(symbol, file string) Upstream {
	return Upstream{Symbol: symbol, File: file, Release: etcdRelease}
}

// Input is what of a request becomes the object, or a part of it, in a step.
type Input uint8

// The inputs.
const (
	NoInput Input = iota
	Body          // the whole object
	Patch         // a change of the stored object
)

// Object is what a step does to the object on its way from the request to etcd, and so for which fields it is to blame.
type Object struct {
	// Who changes the object in the step, in words; the step's title if it is empty.
	Who string
	// OneOfMany says that one of several, such as a plugin, takes the step: its subject says which.
	OneOfMany bool
	// Input says that the client's will enters the object here.
	Input Input
	// Fields are the only ones that the step may set; if it is empty, it may set any.
	Fields []string
	// TakesOver says that the client's object takes the place of the stored one: whoever made that is to blame, not the step.
	TakesOver bool
	// Shapes says that what comes out is on its way to be stored.
	Shapes bool
	// Compares says that the step looks at two objects, and changes neither.
	Compares bool
}

// MaySet says whether the step may set a field, by its path such as "metadata.resourceVersion".
func (o Object) MaySet(path string) bool {
	return len(o.Fields) == 0 || slices.ContainsFunc(o.Fields, func(field string) bool {
		return path == field || strings.HasPrefix(path, field+".") || strings.HasPrefix(path, field+"[")
	})
}

// Info is what is known of the step.
func (id ID) Info() Info { return table[id] }

func (id ID) String() string { return table[id].Name }

// All are the steps that can occur, in the order of the table: layer by layer, downward.
func All() []ID {
	ids := make([]ID, 0, numSteps)
	for id := ID(1); id < numSteps; id++ {
		ids = append(ids, id)
	}
	return ids
}

// byName are the steps by name.
var byName = sync.OnceValue(func() map[string]ID {
	ids := make(map[string]ID, numSteps)
	for _, id := range All() {
		ids[table[id].Name] = id
	}
	return ids
})

// Lookup finds a step by name.
func Lookup(name string) (ID, bool) {
	id, ok := byName()[name]
	return id, ok
}

// InfoOf is what is known of a step by its name; empty for a step that this version of kx does not have.
func InfoOf(name string) Info { return table[byName()[name]] }
