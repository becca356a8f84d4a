package work

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/serviceaccount"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// Kit holds what controllers need from the server.
type Kit struct {
	// Storages makes a map of all storages: whoever wants a built-in one takes Storage.
	Storages Storages
	Storage  Storage
	// Scope returns the request scope of a written resource, for admission. Without it, writes skip admission.
	Scope Scope
	// Gate is passed by each write of the storages. Without one, nothing is rewound.
	Gate *etcd3.Gate
	// Etcd is the etcd of the storages. Decoder knows the prefix of their keys and the encryption of values.
	Etcd    *admin.Live
	Decoder *admin.Decoder
	// Journeys (optional) records the controllers' writes.
	Journeys *trace.Recorder
	Metrics  *Metrics
	Log      *slog.Logger
	// SignClient signs client certificates that this server accepts, and SigningDuration limits their lifetime.
	SignClient      Sign
	SigningDuration time.Duration
	// SecretTokens signs tokens that Secrets hold.
	SecretTokens *serviceaccount.Signer
	// ServerCA returns the certificates, in PEM, that verify this server. renewed is closed when they change.
	ServerCA func() (pem []byte, renewed <-chan struct{})
	// Mapper finds the kinds of resources that are served now. Schema returns the published schema of a kind.
	Mapper func(context.Context) meta.RESTMapper
	Schema func(schema.GroupVersionKind) (*spec.Schema, error)
	// Shared means that other processes may run on the same etcd.
	Shared bool
}

// Sign signs a certificate for a key, and returns it in PEM.
type Sign func(template *x509.Certificate, public any) (certPEM []byte, err error)

// Writer returns a writer for a controller with a service account.
func (k *Kit) Writer(controller, account string) *Writer {
	return &Writer{Name: controller, User: ServiceAccount(account), Scope: k.Scope, Journeys: k.Journeys, Metrics: k.Metrics}
}

// ServerWriter returns a writer for a controller that writes as the server itself.
func (k *Kit) ServerWriter(controller string) *Writer {
	return &Writer{Name: controller, User: APIServer, Journeys: k.Journeys, Metrics: k.Metrics}
}

// message is a type of k8s.io/api.
type message interface{ Unmarshal([]byte) error }

// magic is the prefix of stored protobuf.
var magic = []byte("k8s\x00")

// Unmarshal reads a stored value, which is cheaper than a storage's Get. It fails for values in other formats
// than protobuf.
func (k *Kit) Unmarshal(key string, value []byte, into message) error {
	plain, _, err := k.Decoder.Plain(strings.TrimSuffix(k.Decoder.Prefix, "/")+"/"+key, value)
	if err != nil {
		return err
	}
	envelope, ok := bytes.CutPrefix(plain, magic)
	if !ok {
		return errors.New("it is not protobuf")
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(envelope); err != nil {
		return err
	}
	return into.Unmarshal(unknown.Raw)
}
