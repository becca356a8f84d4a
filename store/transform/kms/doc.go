// Package kms encrypts values with keys that a KMS plugin keeps: Kubernetes' KMS v2, a gRPC service on a socket of this
// machine.
//
// It owns the connection to a plugin, the seed that values are encrypted with at the moment, and the bytes of a value.
// In comes a value and its place in etcd; out go the bytes behind the prefix "k8s:enc:kms:v2:<name>:", and the way
// back:
//
//	message EncryptedObject {
//	  bytes encryptedData = 1;            // 32 bytes of info, 12 of nonce, ciphertext, 16 of tag; etcd key bound
//	  string keyID = 2;                   // the plugin's key
//	  bytes encryptedDEKSource = 3;       // the seed, as the plugin encrypted it
//	  map<string, bytes> annotations = 4; // from the plugin, which needs them to decrypt the seed
//	  int32 encryptedDEKSourceType = 5;   // 1: a seed; HKDF-SHA256 makes a key of it and info. 0: a key
//	}
//
// The plugin sees seeds, not values. A seed is made when the first value is written and when the plugin has another
// key. The plugin decrypts each seed once, and again if its answer opens no value.
//
// Invariants:
//
//  1. Nothing runs while there are no calls. A call refreshes the plugin's state if that is older than a minute. Only
//     while there are seeds that the plugin failed to decrypt, it is asked for those again, at most every ten
//     seconds; OnOpened reports when they can be.
//  2. A value is written only with a key that the plugin has named within the last three minutes.
//  3. A plugin that does not answer delays those reads that need it to decrypt a seed, by its timeout once in a
//     second, and those writes that depend on it, once in ten seconds. A plugin that answers nonsense is an error
//     that names it. Neither ends the process.
//  4. No error carries a key, a seed, or bytes of the plugin's that may be one, nor more than the beginning of its
//     text.
package kms
