package standin

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/util/cert"

	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/version"
)

// ControllersVariable is the environment variable that selects controllers of a kube-controller-manager, which a
// kube-apiserver does not run: on for all, or a value of kx serve's --controllers.
const ControllersVariable = "KX_CONTROLLERS"

// APIServer is a command line of kube-apiserver.
type APIServer struct {
	// Options are the options of kx serve with the same meaning.
	Options *options.Options
	// Answer is the text to print instead of serving: the help or the version.
	Answer string

	// ignored are the flags whose values kx does not heed, in the order of the table.
	ignored  []string
	flags    *pflag.FlagSet
	address  net.IP
	port     int
	certDir  string
	services []string
	help     bool
	version  string
}

// The defaults of kube-apiserver that differ from those of kx serve, and the names of the files in --cert-dir.
const (
	defaultPort = 6443
	certFile    = "apiserver.crt"
	keyFile     = "apiserver.key"
	// nodeMode is the authorizer of kubelets. kx lacks it, and runs none.
	nodeMode = "Node"
)

// ParseAPIServer reads the arguments of a kube-apiserver. controllers is the value of ControllersVariable.
func ParseAPIServer(args []string, controllers string) (*APIServer, error) {
	a := &APIServer{Options: options.New(), address: net.IPv4zero, port: defaultPort}
	a.addFlags()
	if err := a.flags.Parse(args); err != nil {
		return nil, a.explain(err)
	}
	switch {
	case a.help:
		a.Answer = a.usage()
		return a, nil
	case a.version != "":
		a.Answer = versionText(a.version)
		return a, nil
	case a.flags.NArg() > 0:
		return nil, fmt.Errorf("kube-apiserver takes flags only, and got %q", a.flags.Args())
	}
	a.findIgnored()
	return a, a.complete(controllers)
}

// addFlags adds the flags of the table, and those of kx serve with the same names.
func (a *APIServer) addFlags() {
	a.flags = pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	a.flags.Usage = func() {}
	a.flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-")) // as a kube-apiserver takes them
	})
	a.flags.IPVar(&a.address, "bind-address", a.address, "address to serve on; 0.0.0.0 for all of this machine")
	a.flags.IntVar(&a.port, "secure-port", a.port, "port to serve on")
	a.flags.StringVar(&a.certDir, "cert-dir", a.certDir, "directory of the serving certificate "+certFile+" and its key "+keyFile+
		", without --tls-cert-file; they are made if they are missing (default: a certificate is made that is in no file)")
	a.flags.StringSliceVar(&a.services, "service-cluster-ip-range", a.services,
		"range of cluster IPs (default "+a.Options.ServiceIPs+"); kx allocates IPv4 addresses")
	a.flags.BoolVarP(&a.help, "help", "h", false, "list the flags")
	a.flags.StringVar(&a.version, "version", "", "print the version, or with =raw all there is to know of it")
	a.flags.Lookup("version").NoOptDefVal = "true"
	serve := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.Options.AddFlags(serve)
	for _, f := range table {
		switch own := serve.Lookup(f.name); {
		case a.flags.Lookup(f.name) != nil:
		case own != nil:
			a.flags.AddFlag(own)
		default:
			a.flags.AddFlag(f.unused())
		}
	}
}

// explain adds the nearest flag to the error of an unknown one.
func (a *APIServer) explain(err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	for _, f := range table {
		names = append(names, f.name)
	}
	return unknownFlag("kube-apiserver", unknown.GetSpecifiedName(), names)
}

// findIgnored collects the given flags without a meaning in kx.
func (a *APIServer) findIgnored() {
	for _, f := range table {
		given := a.flags.Lookup(f.name)
		if given != nil && given.Changed && given.Annotations[unusedAnnotation] != nil && !f.holds(given.Value.String()) {
			a.ignored = append(a.ignored, "--"+f.name)
		}
	}
}

// complete sets the options that have other names, forms or defaults in kube-apiserver.
func (a *APIServer) complete(controllers string) error {
	o := a.Options
	o.Ephemeral = true // the data directory of kx has only keys then, which nobody asked for
	o.Listen = net.JoinHostPort(a.address.String(), strconv.Itoa(a.port))
	o.Controllers = selection(controllers)
	if err := o.Controllers.Validate(); err != nil {
		return fmt.Errorf("%s: %w", ControllersVariable, err)
	}
	if a.port < 1 || a.port > 65535 {
		return fmt.Errorf("--secure-port: %d is not from 1 to 65535", a.port)
	}
	if len(o.Etcd.Servers) == 0 {
		return errors.New("--etcd-servers is missing: a kube-apiserver has no etcd of its own, as kx serve has")
	}
	if len(o.AdvertiseAddress) == 0 {
		// A kube-apiserver advertises an address of its machine, also if it listens on loopback.
		if ip, err := utilnet.ResolveBindAddress(a.address); err == nil {
			o.AdvertiseAddress = ip
		}
	}
	if ranges := a.services; len(ranges) > 0 {
		o.ServiceIPs = ranges[0]
		if len(ranges) > 1 {
			a.ignored = append(a.ignored, "--service-cluster-ip-range (its second range)")
		}
	}
	a.completeAuthorization()
	if o.Serving.TLSCertFile == "" && o.Serving.TLSPrivateKeyFile == "" && a.certDir != "" {
		return a.certificate()
	}
	return nil
}

// completeAuthorization sets kube-apiserver's default, and leaves out the authorizer of kubelets beside others.
func (a *APIServer) completeAuthorization() {
	auth := &a.Options.Authorization
	if len(auth.Modes) == 0 && auth.ConfigFile == "" {
		auth.Modes = []string{authz.AlwaysAllow}
	}
	if i := slices.Index(auth.Modes, nodeMode); i >= 0 && len(auth.Modes) > 1 {
		auth.Modes = slices.Delete(slices.Clone(auth.Modes), i, i+1)
		a.ignored = append(a.ignored, "--authorization-mode="+nodeMode)
	}
}

// selection returns the controllers that run.
func selection(controllers string) controller.Selection {
	switch controllers {
	case "", "off":
		return controller.Selection{"-*"}
	case "on":
		return controller.Selection{"*"}
	}
	return strings.Split(controllers, ",")
}

// certificate finds the serving certificate in --cert-dir, or makes one there, as kube-apiserver does: clients may
// read it.
func (a *APIServer) certificate() error {
	serving := &a.Options.Serving
	serving.TLSCertFile, serving.TLSPrivateKeyFile = filepath.Join(a.certDir, certFile), filepath.Join(a.certDir, keyFile)
	_, certErr := os.Stat(serving.TLSCertFile)
	_, keyErr := os.Stat(serving.TLSPrivateKeyFile)
	switch noCert, noKey := errors.Is(certErr, fs.ErrNotExist), errors.Is(keyErr, fs.ErrNotExist); {
	case !noCert && !noKey:
		return errors.Join(certErr, keyErr)
	case noCert != noKey:
		return fmt.Errorf("--cert-dir: %s has only one of %s and %s: add the other, or remove it", a.certDir, certFile, keyFile)
	}
	host := a.address.String()
	if a.address.IsUnspecified() {
		host = "localhost"
	}
	names := []string{"localhost", "kubernetes.default"}
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1)}, names)
	if err != nil {
		return fmt.Errorf("make a serving certificate: %w", err)
	}
	err = os.MkdirAll(a.certDir, 0o755)
	if err == nil {
		err = cert.WriteCert(serving.TLSCertFile, certPEM)
	}
	if err == nil {
		err = os.WriteFile(serving.TLSPrivateKeyFile, keyPEM, 0o600)
	}
	if err != nil {
		return fmt.Errorf("make a serving certificate in --cert-dir: %w", err)
	}
	return nil
}

// Warning names the flags that kx does not heed, or is empty.
func (a *APIServer) Warning() string {
	if len(a.ignored) == 0 {
		return ""
	}
	return "flags of kube-apiserver that mean nothing to kx: " + strings.Join(a.ignored, ", ")
}

func (a *APIServer) usage() string {
	return "kx, called as kube-apiserver: serves the Kubernetes API on an etcd. " + ControllersVariable +
		"=on also runs\nthe controllers of kube-controller-manager that kx has.\n\nUsage:\n  kube-apiserver [flags]\n\nFlags:\n" +
		a.flags.FlagUsages()
}

// versionText is the version in kube-apiserver's form.
func versionText(format string) string {
	if format == "raw" {
		return fmt.Sprintf("%#v\n", version.Info())
	}
	return fmt.Sprintf("Kubernetes %s\n", version.Info().GitVersion)
}
