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
)

// Kit has what controllers are made with.
type Kit struct {
	Storages Storages
	// Scope finds what admission needs to know of a resource that is written. Without it, admission is asked about
	// nothing.
	Scope Scope
	// Etcd is what the storages keep their objects in, and Decoder knows the prefix of their keys and how values are
	// encrypted.
	Etcd    *admin.Live
	Decoder *admin.Decoder
	// Journeys (optional) records what the controllers write.
	Journeys *trace.Recorder
	Metrics  *Metrics
	Log      *slog.Logger
	// SignClient signs client certificates that this server accepts, and SigningDuration is how long they are valid at
	// most.
	SignClient      Sign
	SigningDuration time.Duration
	// SecretTokens signs tokens that Secrets hold.
	SecretTokens *serviceaccount.Signer
	// ServerCA returns the certificates, in PEM, by which clients verify this server. renewed is closed when they are
	// others.
	ServerCA func() (pem []byte, renewed <-chan struct{})
	// Mapper finds the kinds of resources that are served now, and Schema is what the server tells its clients of a
	// kind.
	Mapper func(context.Context) meta.RESTMapper
	Schema func(schema.GroupVersionKind) (*spec.Schema, error)
	// Shared says that other processes may run on the same etcd.
	Shared bool
}

// Sign signs a certificate for a key, and returns it in PEM.
type Sign func(template *x509.Certificate, public any) (certPEM []byte, err error)

// Writer begins the requests of a controller, as a service account.
func (k *Kit) Writer(controller, account string) *Writer {
	return &Writer{Name: controller, User: ServiceAccount(account), Scope: k.Scope, Journeys: k.Journeys, Metrics: k.Metrics}
}

// Self begins the requests of a controller that is the server's own.
func (k *Kit) Self(controller string) *Writer {
	return &Writer{Name: controller, User: APIServer, Journeys: k.Journeys, Metrics: k.Metrics}
}

// message is a type of k8s.io/api.
type message interface{ Unmarshal([]byte) error }

// magic begins stored protobuf.
var magic = []byte("k8s\x00")

// Unmarshal reads a stored value, which costs less than asking a storage. What is not stored as protobuf is an error.
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
