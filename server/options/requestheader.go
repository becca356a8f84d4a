package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// RequestHeader configures the proxy in front of the server that may name users in headers.
type RequestHeader struct {
	// ClientCAFile has the authorities of the proxy's certificate. If it is empty, no proxy is trusted.
	ClientCAFile string
	// AllowedNames are the common names of such certificates; empty allows any.
	AllowedNames []string

	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraHeaderPrefixes []string
}

func (h *RequestHeader) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&h.ClientCAFile, "requestheader-client-ca-file", h.ClientCAFile,
		"authority of the certificate of a proxy in front of the server, whose headers say who asks")
	fs.StringSliceVar(&h.AllowedNames, "requestheader-allowed-names", h.AllowedNames,
		"common names of the proxy's certificate (default: any)")
	fs.StringSliceVar(&h.UsernameHeaders, "requestheader-username-headers", h.UsernameHeaders,
		"headers in which the proxy sends the user's name, such as X-Remote-User; the first that has one wins")
	fs.StringSliceVar(&h.UIDHeaders, "requestheader-uid-headers", h.UIDHeaders,
		"headers in which the proxy sends the user's UID: X-Remote-Uid")
	fs.StringSliceVar(&h.GroupHeaders, "requestheader-group-headers", h.GroupHeaders,
		"headers in which the proxy sends the user's groups, such as X-Remote-Group")
	fs.StringSliceVar(&h.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", h.ExtraHeaderPrefixes,
		"what the headers begin with in which the proxy sends more of the user, such as X-Remote-Extra-")
}

func (h *RequestHeader) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	given := false
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"username-headers", h.UsernameHeaders}, {"uid-headers", h.UIDHeaders}, {"group-headers", h.GroupHeaders},
		{"extra-headers-prefix", h.ExtraHeaderPrefixes}, {"allowed-names", h.AllowedNames},
	} {
		given = given || len(list.values) > 0
		if slices.ContainsFunc(list.values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
			bad("--requestheader-%s: a value is empty", list.flag)
		}
	}
	switch {
	case h.ClientCAFile == "" && given:
		bad("--requestheader-client-ca-file is missing: the other --requestheader flags say what its proxy sends")
	case h.ClientCAFile != "" && len(h.UsernameHeaders) == 0:
		bad("--requestheader-client-ca-file: nobody is known by a proxy that sends no name: add " +
			"--requestheader-username-headers=X-Remote-User")
	}
	if len(h.UIDHeaders) > 0 && !slices.ContainsFunc(h.UIDHeaders, func(v string) bool { return strings.EqualFold(v, "X-Remote-Uid") }) {
		bad("--requestheader-uid-headers: X-Remote-Uid is missing, which API servers behind this one go by")
	}
	return errors.Join(errs...)
}
