package legacytoken

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	lastUsedLabel     = "kubernetes.io/legacy-token-last-used"
	invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since"
	// day is how days are written in labels, and in the config map.
	day = time.DateOnly
)

var secretResource = corev1.SchemeGroupVersion.WithResource("secrets")

// Marker labels Secrets with the day on which their tokens were used last.
type Marker struct {
	secrets *work.Objects[*corev1.Secret]
	log     *slog.Logger
}

// NewMarker makes a marker.
func NewMarker(kit *work.Kit) *Marker {
	return &Marker{work.ObjectsOf[*corev1.Secret](kit, kit.Self("legacy-token-tracking"), secretResource), kit.Log}
}

// Mark says that the token of a Secret was used, unless the label says so already. The clock of another server may be in tomorrow.
func (m *Marker) Mark(ctx context.Context, secret *corev1.Secret) {
	now := time.Now().UTC()
	today, tomorrow := now.Format(day), now.AddDate(0, 0, 1).Format(day)
	isMarked := func(s *corev1.Secret) bool {
		return s.Labels[lastUsedLabel] == today || s.Labels[lastUsedLabel] == tomorrow
	}
	if isMarked(secret) {
		return
	}
	err := m.secrets.Update(ctx, secret, "", work.Decide(0, trace.TokenUsed), func(s *corev1.Secret) (bool, error) {
		if isMarked(s) {
			return false, nil
		}
		metav1.SetMetaDataLabel(&s.ObjectMeta, lastUsedLabel, today)
		return true, nil
	})
	if err != nil {
		m.log.Warn("cannot write down that the token of a secret was used: it may be taken for unused", "namespace", secret.Namespace, "name", secret.Name, "error", err)
	}
}
