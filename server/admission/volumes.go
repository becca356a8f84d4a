package admission

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin/storage"
)

func storageClasses(kit *plugin.Kit) plugin.Objects[*storagev1.StorageClass] {
	return plugin.ObjectsOf[*storagev1.StorageClass](kit, storagev1.SchemeGroupVersion.WithResource("storageclasses"))
}

// defaultStorageClass sets the class of claims that name none.
func defaultStorageClass(kit *plugin.Kit) plugin.Plugin {
	classes := storageClasses(kit)
	return plugin.Plugin{
		Operations: onCreate, About: plugin.Resources("", "persistentvolumeclaims"),
		Admit: plugin.WithObject(func(ctx context.Context, w plugin.Write, claim *corev1.PersistentVolumeClaim) error {
			if _, old := claim.Annotations[corev1.BetaStorageClassAnnotation]; old || claim.Spec.StorageClassName != nil {
				w.Step.Why(classNamed)
				return nil
			}
			all, err := classes.List(ctx, "")
			if err != nil {
				return w.Refusal("%w", err)
			}
			return chooseDefault(w, all, storage.IsDefaultClass, &claim.Spec.StorageClassName)
		}),
	}
}

var (
	noDefaultClass = trace.Because("no-default-class",
		"the object names no class, and none is the default",
		"对象没有指定类，也没有默认类")
	classByDefault = trace.Because("class-by-default",
		"the object names no class: the default one is {class:quote}",
		"对象没有指定类：默认类是 {class:quote}")
)

// chooseDefault chooses the newest class that is marked as default; of several from the same second, the first
// by name.
func chooseDefault[T metav1.Object](w plugin.Write, classes []T, isDefault func(T) bool, class **string) error {
	classes = slices.DeleteFunc(classes, func(c T) bool { return !isDefault(c) })
	if len(classes) == 0 {
		w.Step.Why(noDefaultClass)
		return nil
	}
	newest := slices.MinFunc(classes, func(a, b T) int {
		if at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp(); !at.Equal(&bt) {
			return bt.Compare(at.Time)
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	name := newest.GetName()
	*class = &name
	w.Step.WhyText(classByDefault, name)
	return nil
}

var finalizerAdded = trace.Because("finalizer-added",
	"finalizer {finalizer:word} added: a controller takes it away when nobody uses the object",
	"添加 finalizer {finalizer:word}：没有使用者之后由控制器移除")

// storageObjectInUseProtection adds the finalizers that keep storage objects while they are in use. Controllers
// remove them.
func storageObjectInUseProtection(*plugin.Kit) plugin.Plugin {
	finalizers := map[string]string{
		"persistentvolumes":       "kubernetes.io/pv-protection",
		"persistentvolumeclaims":  "kubernetes.io/pvc-protection",
		"volumeattributesclasses": "kubernetes.io/vac-protection",
	}
	return plugin.Plugin{
		Operations: onCreate,
		About: append(plugin.Resources("", "persistentvolumes", "persistentvolumeclaims"),
			plugin.Resources(storagev1.GroupName, "volumeattributesclasses")...),
		Admit: func(_ context.Context, w plugin.Write) error {
			finalizer := finalizers[w.GetResource().Resource]
			obj, err := meta.Accessor(w.GetObject())
			if err != nil {
				return apierrors.NewInternalError(err)
			}
			if slices.Contains(obj.GetFinalizers(), finalizer) {
				w.Step.Why(pluginLeft)
				return nil
			}
			obj.SetFinalizers(append(obj.GetFinalizers(), finalizer))
			w.Step.WhyText(finalizerAdded, finalizer)
			return nil
		},
	}
}

var classAllowsExpansion = trace.Because("class-allows-expansion",
	"the class {class:quote} allows larger volumes",
	"类 {class:quote} 允许扩容卷")

// claimResize refuses to enlarge a claim whose class does not allow expansion.
func claimResize(kit *plugin.Kit) plugin.Plugin {
	classes := storageClasses(kit)
	return plugin.Plugin{
		Operations: onUpdate, About: plugin.Resources("", "persistentvolumeclaims"),
		Validate: plugin.WithOld(func(ctx context.Context, w plugin.Write, claim, old *corev1.PersistentVolumeClaim) error {
			size, was := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
			if size.Cmp(was) <= 0 {
				w.Step.Why(pluginLeft)
				return nil
			}
			if old.Status.Phase != corev1.ClaimBound {
				return w.Refusal("Only bound persistent volume claims can be expanded")
			}
			name := classOf(claim)
			if name != "" && name == classOf(old) {
				class, found, err := classes.Get(ctx, "", name)
				if err != nil {
					return err
				}
				if found && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion {
					w.Step.WhyText(classAllowsExpansion, name)
					return nil
				}
			}
			return w.Refusal(
				"only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
		}),
	}
}

// classOf returns the class of a claim, from the old annotation or its field.
func classOf(claim *corev1.PersistentVolumeClaim) string {
	if class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}
