package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/version"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backup"
)

// recordName is the name of the Record's file in a data directory.
const recordName = "serving.json"

// Record describes how a server was started. It holds names of files, but nothing of their content.
type Record struct {
	// Prefix is the prefix of the keys in etcd.
	Prefix string `json:"prefix"`
	// Flags holds the flags that differ from their defaults.
	Flags map[string][]string `json:"flags,omitempty"`
	// Files lists the files outside the data directory that clients or tokens depend on, by the names of their
	// parts.
	Files map[string]string `json:"files,omitempty"`
	// Etcd is set for a cluster outside kx.
	Etcd *admin.Endpoint `json:"etcd,omitempty"`
}

// NewRecord describes a server with these options.
func NewRecord(o *options.Options) (*Record, error) {
	r := &Record{Prefix: o.Etcd.KeyPrefix(), Flags: o.Changed(), Files: map[string]string{}}
	var errs []error
	file := func(part, path string) {
		if path == "" {
			return
		}
		absolute, err := filepath.Abs(path)
		errs = append(errs, err)
		r.Files[part] = absolute
	}
	for flag, path := range map[string]string{
		"service-account-signing-key-file": o.Tokens.SigningKeyFile,
		"tls-cert-file":                    o.Serving.TLSCertFile,
		"tls-private-key-file":             o.Serving.TLSPrivateKeyFile,
		"client-ca-file":                   o.Access.ClientCAFile,
		"requestheader-client-ca-file":     o.Access.RequestHeader.ClientCAFile,
		"proxy-client-cert-file":           o.Aggregator.CertFile,
		"proxy-client-key-file":            o.Aggregator.KeyFile,
	} {
		file(partOf(flag), path)
	}
	for i, path := range o.Tokens.KeyFiles {
		file(partOf("service-account-key-file")+"."+strconv.Itoa(i+1), path)
	}
	if len(o.Etcd.Servers) > 0 {
		r.Etcd = &admin.Endpoint{URLs: o.Etcd.Servers, CAFile: o.Etcd.CAFile, CertFile: o.Etcd.CertFile, KeyFile: o.Etcd.KeyFile}
		for _, path := range []*string{&r.Etcd.CAFile, &r.Etcd.CertFile, &r.Etcd.KeyFile} {
			if *path != "" {
				absolute, err := filepath.Abs(*path)
				errs = append(errs, err)
				*path = absolute
			}
		}
	}
	return r, errors.Join(errs...)
}

// partOf returns the name of the part for the file of a flag.
func partOf(flag string) string { return "flags/" + flag }

// Write writes the record to a data directory.
func (r *Record) Write(dir *identity.DataDir) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = dir.WriteFile(recordName, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write down how the server was started: %w", err)
	}
	return nil
}

// ReadRecord reads the record of the last server that used a data directory.
func ReadRecord(dir string) (*Record, error) {
	path := filepath.Join(dir, recordName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing, which kx serve writes: start kx serve on %s again, or save a plain snapshot", path, dir)
	}
	r := &Record{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w: start kx serve on %s again, which writes it anew", path, err, dir)
	}
	return r, nil
}

// MissingParts lists the parts of an earlier server's data directory that are missing, and that a server with these
// options will create anew.
func MissingParts(dir string, o *options.Options) (lost []string) {
	if info, err := os.Stat(filepath.Join(dir, recordName)); err != nil || !info.Mode().IsRegular() {
		return nil // no server has been there
	}
	before, err := ReadRecord(dir)
	if err != nil {
		return nil // this start writes it anew
	}
	gone := func(path ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{dir}, path...)...))
		return errors.Is(err, fs.ErrNotExist)
	}
	if before.Etcd == nil && len(o.Etcd.Servers) == 0 && gone("etcd", "member") {
		lost = append(lost, fmt.Sprintf("the data of etcd is gone from %s: this server begins with none; "+
			"if that is a mistake, stop it and run kx etcd snapshot restore", filepath.Join(dir, "etcd")))
	}
	if o.Tokens.SigningKeyFile == "" && before.Files[partOf("service-account-signing-key-file")] == "" && gone("sa.key") {
		lost = append(lost, fmt.Sprintf("%s is gone: a new one is made, and all tokens of service accounts so far are invalid; "+
			"if that is a mistake, stop this server and put back the file of a backup", filepath.Join(dir, "sa.key")))
	}
	return lost
}

// Parts reads the files, of a data directory and of flags, that make a restored server the same to its clients.
func (r *Record) Parts(dir string) (parts []backup.Part, err error) {
	needed, optional := identity.KeptFiles()
	for i, name := range append(needed, optional...) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && i >= len(needed) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read what is to be saved: %w", err)
		}
		parts = append(parts, backup.Part{Name: name, Data: data})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		data, err := os.ReadFile(r.Files[name])
		if err != nil {
			return nil, fmt.Errorf("read what is to be saved: --%s: %w", filepath.Base(name), err)
		}
		parts = append(parts, backup.Part{Name: name, Data: data})
	}
	return parts, nil
}

// Describe returns the record's part of an archive's manifest.
func (r *Record) Describe() backup.Manifest {
	m := backup.Manifest{KX: ProgramVersion(), Prefix: r.Prefix, Flags: r.Flags}
	if r.Etcd != nil {
		m.Etcd.Servers = r.Etcd.URLs
	}
	return m
}

// ProgramVersion returns the version of this program.
func ProgramVersion() backup.Version {
	info := version.Info()
	return backup.Version{Release: version.Release, Commit: info.GitCommit, Kubernetes: info.GitVersion}
}

// elsewhere lists flags about the location of a server, not about its behavior.
var elsewhere = []string{"data-dir", "ephemeral", "kubeconfig-out"}

// Words returns the command that serves a restored archive with its flags. Files of flags are now in the new
// directory.
func Words(dir string, a *backup.Archive) []string {
	words := []string{"kx", "serve", "--data-dir", dir}
	parts := a.Parts()
	for _, flag := range slices.Sorted(maps.Keys(a.Manifest.Flags)) {
		if slices.Contains(elsewhere, flag) {
			continue
		}
		for i, value := range a.Manifest.Flags[flag] {
			for _, part := range []string{partOf(flag), partOf(flag) + "." + strconv.Itoa(i+1)} {
				if slices.Contains(parts, part) {
					value = filepath.Join(dir, filepath.FromSlash(part))
				}
			}
			words = append(words, "--"+flag+"="+value)
		}
	}
	return words
}
