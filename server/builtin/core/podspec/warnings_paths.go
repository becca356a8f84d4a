package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// writtenPath is the path of a file that the kubelet writes into a volume, with its projected source.
type writtenPath struct{ path, source string }

func (p writtenPath) String() string {
	if p.source == "" {
		return fmt.Sprintf("%q", p.path)
	}
	return fmt.Sprintf("%q (%s)", p.path, p.source)
}

// overlaps warns of files of a volume that replace each other, or that are in the place of another file's directory.
func (w *warner) overlaps() {
	for i := range w.spec.Volumes {
		v := &w.spec.Volumes[i]
		switch {
		case v.ConfigMap != nil:
			w.overlapping(v.Name, fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), keyPaths(v.ConfigMap.Items, ""))
		case v.Secret != nil:
			w.overlapping(v.Name, fmt.Sprintf("Secret %q", v.Secret.SecretName), keyPaths(v.Secret.Items, ""))
		case v.DownwardAPI != nil:
			w.overlapping(v.Name, "DownwardAPI", filePaths(v.DownwardAPI.Items, ""))
		case v.Projected != nil:
			w.projected(v.Name, v.Projected.Sources)
		}
	}
}

func (w *warner) projected(volume string, sources []corev1.VolumeProjection) {
	var all []writtenPath
	for i := range sources {
		if sources[i] == (corev1.VolumeProjection{}) {
			w.found = append(w.found, fmt.Sprintf("volume %q (Projected) has no sources provided", volume))
			continue
		}
		all = append(all, projectedPaths(&sources[i])...)
	}
	w.overlapping(volume, "Projected", all)
}

// overlapping adds each text once: clients see no text twice.
func (w *warner) overlapping(volume, kind string, paths []writtenPath) {
	type pair struct{ here, before writtenPath }
	seen := map[pair]bool{}
	for i := range paths {
		paths[i].path = strings.TrimRight(paths[i].path, "/")
		here := paths[i]
		for _, before := range paths[:i] {
			if !w.comparesOn() {
				return
			}
			if here.path == "" || before.path == "" || !within(here.path, before.path) && !within(before.path, here.path) {
				continue
			}
			if both := (pair{here, before}); !seen[both] {
				seen[both] = true
				w.addPair(fmt.Sprintf("volume %q (%s): overlapping paths: %s with %s", volume, kind, here, before))
			}
		}
	}
}

// within reports whether path is dir, or lies below it.
func within(path, dir string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

func projectedPaths(s *corev1.VolumeProjection) []writtenPath {
	switch {
	case s.ConfigMap != nil && s.ConfigMap.Items != nil:
		return keyPaths(s.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", s.ConfigMap.Name))
	case s.Secret != nil && s.Secret.Items != nil:
		return keyPaths(s.Secret.Items, fmt.Sprintf("Secret %q", s.Secret.Name))
	case s.DownwardAPI != nil && s.DownwardAPI.Items != nil:
		return filePaths(s.DownwardAPI.Items, "DownwardAPI")
	case s.ServiceAccountToken != nil:
		return []writtenPath{{s.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case s.ClusterTrustBundle != nil:
		name := s.ClusterTrustBundle.Name
		if name == nil {
			name = s.ClusterTrustBundle.SignerName
		}
		if name == nil {
			return nil // it is invalid, so validation reports it
		}
		return []writtenPath{{s.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", *name)}}
	case s.PodCertificate != nil:
		c := s.PodCertificate
		return []writtenPath{{c.CertificateChainPath, "PodCertificate chain"}, {c.KeyPath, "PodCertificate key"},
			{c.CredentialBundlePath, "PodCertificate credential bundle"}}
	}
	return nil
}

func keyPaths(items []corev1.KeyToPath, source string) []writtenPath {
	var paths []writtenPath
	for _, item := range items {
		paths = append(paths, writtenPath{item.Path, source})
	}
	return paths
}

func filePaths(items []corev1.DownwardAPIVolumeFile, source string) []writtenPath {
	var paths []writtenPath
	for _, item := range items {
		paths = append(paths, writtenPath{item.Path, source})
	}
	return paths
}
