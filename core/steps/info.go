package steps

import (
	"slices"
	"strings"
	"sync"
)

// Layer is the part of the server in which a step happens.
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

// layers are the names of the layers, and the lane in which the screen draws each, as an index of [Lanes].
var layers = [...]struct {
	name string
	lane int
}{
	{"filter", 0}, {"handler", 0}, {"rest", 1}, {"store", 2}, {"dryrun", 2},
	{"cacher", 3}, {"etcd3", 4}, {"transform", 4}, {"etcd", 5},
}

// Lanes are the initials of the lanes, from the client to etcd. K stands for etcd's keys.
const Lanes = "HRSCEK"

// laneNames names the lanes, in the order of [Lanes].
var laneNames = [len(Lanes)]string{"handler", "REST storage", "Store", "watch cache", "etcd3", "etcd's keys"}

// LaneName returns the name of a lane.
func LaneName(lane int) string { return laneNames[lane] }

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

// Info describes a step: its row of the table.
type Info struct {
	// Name is the step's ID in words, such as "etcd3.get".
	Name  string
	Layer Layer
	Title string
	// Upstream is the function with the same task in the Kubernetes API server, or the function of etcd that the step
	// calls.
	Upstream Upstream
	// Mark says that the step happens on a goroutine that requests share, so it can't be held.
	Mark bool
	// Fails says that the step can be made to fail: it asks for its Err before it does anything.
	Fails bool
	// Edits says that the step knows the request's own object, which can be edited while the step is held.
	Edits bool
	// Waits says that the step only waits for others, so its own time is not work of the request. A step of an install
	// that waits did its work for other resources too.
	Waits bool
	// PerVerb says that each verb has a step of this kind. Comparison aligns two journeys at these steps of a layer.
	PerVerb bool
	// Fine says that the step is a detail of the one that called it. Screens and stories show details that succeeded
	// together.
	Fine bool
	// Object describes the step's effect on the object.
	Object Object
}

// Upstream is a function of another project.
type Upstream struct {
	// Symbol is the function, method or type. File is its file in the repository kubernetes/kubernetes or etcd-io/etcd.
	Symbol, File string
	// Release is the release in which it was read.
	Release string
}

const (
	staging           = "staging/src/k8s.io/"
	kubernetesRelease = "v1.37"
	etcdRelease       = "v3.7"
)

// kubernetes is a function of kubernetes/kubernetes or of a module published from it.
func kubernetes(symbol, file string) Upstream {
	return Upstream{Symbol: symbol, File: staging + file, Release: kubernetesRelease}
}

// apiserver is a function of kubernetes/kubernetes that no module publishes.
func apiserver(symbol, file string) Upstream {
	return Upstream{Symbol: symbol, File: file, Release: kubernetesRelease}
}

// etcd is a function of etcd.
func etcd(symbol, file string) Upstream {
	return Upstream{Symbol: symbol, File: file, Release: etcdRelease}
}

// Input is the part of a request that enters the object in a step.
type Input uint8

// The inputs.
const (
	NoInput Input = iota
	Body          // the whole object
	Patch         // a change of the stored object
)

// Object describes a step's effect on the object on its way to etcd, and so the fields that it can be responsible
// for.
type Object struct {
	// Who names the part of the server that changes the object. If it is empty, the step's title does.
	Who string
	// OneOfMany says that the step's subject names which one of several, such as plugins, takes it.
	OneOfMany bool
	// Input is the part of the request that enters the object here.
	Input Input
	// Fields are the only ones that the step may set; if it is empty, it may set any.
	Fields []string
	// TakesOver says that the client's object replaces the stored one: the blame is the sender's, not the step's.
	TakesOver bool
	// Shapes says that the step's result will be stored.
	Shapes bool
	// Compares says that the step compares two objects and changes neither.
	Compares bool
}

// MaySet says whether the step may set a field, by its path such as "metadata.resourceVersion".
func (o Object) MaySet(path string) bool {
	return len(o.Fields) == 0 || slices.ContainsFunc(o.Fields, func(field string) bool {
		return path == field || strings.HasPrefix(path, field+".") || strings.HasPrefix(path, field+"[")
	})
}

// Info is the step's row of the table.
func (id ID) Info() Info { return table[id] }

func (id ID) String() string { return table[id].Name }

// All are all steps in the order of the table: layer by layer, downward.
func All() []ID {
	ids := make([]ID, 0, Count)
	for id := ID(1); id < Count; id++ {
		ids = append(ids, id)
	}
	return ids
}

// byName are the steps by name.
var byName = sync.OnceValue(func() map[string]ID {
	ids := make(map[string]ID, Count)
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

// Detail returns the short name of a fine step: without the layer.
func Detail(name string) string { return name[strings.IndexByte(name, '.')+1:] }

// InfoOf finds the row of a step by name. It is empty for a step that this version of kx does not have.
func InfoOf(name string) Info { return table[byName()[name]] }
