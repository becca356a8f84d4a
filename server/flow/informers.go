package flow

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/flowcontrol"
	informersv1 "k8s.io/client-go/informers/flowcontrol/v1"
	listersv1 "k8s.io/client-go/listers/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"
)

// informersOf returns a factory of the two informers that the library requests. client-go's own factory can make
// informers of all kinds, so the linker would keep all of them in the binary. The methods that the embedded nil
// interfaces provide are never called.
func informersOf(
	levels *kept[*flowcontrolv1.PriorityLevelConfiguration], schemas *kept[*flowcontrolv1.FlowSchema],
) informers.SharedInformerFactory {
	return factory{group: group{version: version{levels: levelInformer{kept: levels}, schemas: schemaInformer{kept: schemas}}}}
}

type factory struct {
	informers.SharedInformerFactory
	group group
}

func (f factory) Flowcontrol() flowcontrol.Interface { return f.group }

type group struct {
	flowcontrol.Interface
	version version
}

func (g group) V1() informersv1.Interface { return g.version }

type version struct {
	levels  levelInformer
	schemas schemaInformer
}

func (v version) PriorityLevelConfigurations() informersv1.TypedPriorityLevelConfigurationInformer {
	return v.levels
}

func (v version) FlowSchemas() informersv1.TypedFlowSchemaInformer { return v.schemas }

type levelInformer struct {
	informersv1.TypedPriorityLevelConfigurationInformer
	kept *kept[*flowcontrolv1.PriorityLevelConfiguration]
}

func (i levelInformer) Informer() cache.SharedIndexInformer { return i.kept }

func (i levelInformer) Lister() listersv1.PriorityLevelConfigurationLister {
	return listersv1.NewPriorityLevelConfigurationLister(i.kept.GetIndexer())
}

type schemaInformer struct {
	informersv1.TypedFlowSchemaInformer
	kept *kept[*flowcontrolv1.FlowSchema]
}

func (i schemaInformer) Informer() cache.SharedIndexInformer { return i.kept }

func (i schemaInformer) Lister() listersv1.FlowSchemaLister {
	return listersv1.NewFlowSchemaLister(i.kept.GetIndexer())
}
