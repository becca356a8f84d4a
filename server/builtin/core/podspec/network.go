package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of a Linux resolver.
const (
	maxNameservers   = 3
	maxSearchPaths   = 32
	maxSearchListLen = 2048
)

func (v *validator) validateDNSPolicy(path *field.Path) field.ErrorList {
	return supported(path, v.spec.DNSPolicy,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
}

func (v *validator) validateDNSConfig(path *field.Path) field.ErrorList {
	config := v.spec.DNSConfig
	if v.spec.DNSPolicy == corev1.DNSNone {
		if config == nil {
			return field.ErrorList{field.Required(path, fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))}
		}
		if len(config.Nameservers) == 0 {
			return field.ErrorList{field.Required(path.Child("nameservers"),
				fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone))}
		}
	}
	if config == nil {
		return nil
	}
	var errs field.ErrorList
	servers, searches := path.Child("nameservers"), path.Child("searches")
	if len(config.Nameservers) > maxNameservers {
		errs = append(errs,
			field.Invalid(servers, config.Nameservers, fmt.Sprintf("must not have more than %v nameservers", maxNameservers)))
	}
	for i, server := range config.Nameservers {
		errs = append(errs, validation.IsValidIPForLegacyField(servers.Index(i), server, true, nil)...)
	}
	if len(config.Searches) > maxSearchPaths {
		errs = append(errs,
			field.Invalid(searches, config.Searches, fmt.Sprintf("must not have more than %v search paths", maxSearchPaths)))
	}
	if len(strings.Join(config.Searches, " ")) > maxSearchListLen {
		errs = append(errs, field.Invalid(searches, config.Searches,
			fmt.Sprintf("must not have more than %v characters (including spaces) in the search list", maxSearchListLen)))
	}
	for i, search := range config.Searches {
		if search != "." {
			name := strings.TrimSuffix(search, ".")
			errs = append(errs, invalid(searches.Index(i), name, validation.IsDNS1123SubdomainWithUnderscore(name))...)
		}
	}
	for i, option := range config.Options {
		if option.Name == "" {
			errs = append(errs, field.Required(path.Child("options").Index(i), "must not be empty"))
		}
	}
	return errs
}

func validateHostAliases(aliases []corev1.HostAlias, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, alias := range aliases {
		at := path.Index(i)
		errs = append(errs, validation.IsValidIPForLegacyField(at.Child("ip"), alias.IP, true, nil)...)
		for j, name := range alias.Hostnames {
			errs = append(errs, invalid(at.Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name))...)
		}
	}
	return errs
}
