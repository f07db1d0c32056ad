package amazon

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"clusterctl/provision/cloud/standin"
)

// MetadataAddress is where an instance finds what is told about itself (EC2 User Guide, "Access instance
// metadata").
const MetadataAddress = "169.254.169.254"

// role is that of every instance.
const role = "stand-in"

// session opens the metadata service; the real one makes one for each asker.
const session = "stand-in-imds"

// Metadata serves the metadata service: each asker, told apart by its address, is told of itself. Only
// those with a session are answered (IMDSv2).
func (c Cloud) Metadata() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.Atoi(r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
		if err != nil || seconds < 1 {
			http.Error(w, "how long is missing", http.StatusBadRequest)
			return
		}
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", strconv.Itoa(seconds))
		io.WriteString(w, session)
	})
	tell := func(path string, text func(standin.Thing) any) {
		mux.HandleFunc("GET /latest/"+path, func(w http.ResponseWriter, r *http.Request) { c.tell(w, r, text) })
	}
	tell("meta-data/instance-id", func(t standin.Thing) any { return t.ID })
	tell("meta-data/placement/availability-zone", func(t standin.Thing) any { return t.Inputs["availabilityZone"] })
	tell("meta-data/placement/region", func(standin.Thing) any { return c.Region })
	tell("meta-data/iam/security-credentials/{$}", func(standin.Thing) any { return role })
	tell("meta-data/iam/security-credentials/"+role, func(standin.Thing) any { return credentials(time.Now()) })
	tell("dynamic/instance-identity/document", func(t standin.Thing) any { return c.identity(t) })
	return mux
}

func (c Cloud) tell(w http.ResponseWriter, r *http.Request, text func(standin.Thing) any) {
	if r.Header.Get("X-Aws-Ec2-Metadata-Token") != session {
		http.Error(w, "no session", http.StatusUnauthorized)
		return
	}
	t, err := c.asker(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	switch v := text(t).(type) {
	case map[string]any:
		_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
	default:
		fmt.Fprint(w, v)
	}
}

// asker is the instance whose address a request comes from.
func (c Cloud) asker(r *http.Request) (standin.Thing, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return standin.Thing{}, err
	}
	all, err := c.World.Things()
	if err != nil {
		return standin.Thing{}, err
	}
	found := things(all).of(machineType).with("privateIp", host)
	if len(found) == 0 {
		return standin.Thing{}, fmt.Errorf("no instance has the address %s", host)
	}
	return found[0], nil
}

// credentials are the role's, for an hour.
func credentials(now time.Time) map[string]any {
	return map[string]any{
		"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": now.UTC().Format(time.RFC3339), "Expiration": now.Add(time.Hour).UTC().Format(time.RFC3339),
		"AccessKeyId": accessKey, "SecretAccessKey": secretKey, "Token": token,
	}
}

func (c Cloud) identity(t standin.Thing) map[string]any {
	return map[string]any{
		"instanceId": t.ID, "instanceType": t.Inputs["instanceType"], "privateIp": t.Inputs["privateIp"], "region": c.Region,
		"availabilityZone": t.Inputs["availabilityZone"], "accountId": "000000000000", "version": "2017-09-30",
	}
}
