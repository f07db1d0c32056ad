// Package ask is how a cloud's program asks for things: with small typed structs instead of the
// providers' generated SDKs.
package ask

import (
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Made is a thing that a program asked for, with what clouds tell of it. An output that a cloud
// does not have for a type is empty.
type Made struct {
	pulumi.CustomResourceState

	Arn      pulumi.StringOutput `pulumi:"arn"`
	Name     pulumi.StringOutput `pulumi:"name"`
	KeyName  pulumi.StringOutput `pulumi:"keyName"`
	PublicIp pulumi.StringOutput `pulumi:"publicIp"`
	DnsName  pulumi.StringOutput `pulumi:"dnsName"`
	SelfLink pulumi.StringOutput `pulumi:"selfLink"`
	Email    pulumi.StringOutput `pulumi:"email"`
	Address  pulumi.StringOutput `pulumi:"address"`
	Path     pulumi.StringOutput `pulumi:"path"`
}

// Register asks for a thing. args is a struct whose fields have the provider's names as pulumi
// tags; fields that are nil are left out.
func Register(ctx *pulumi.Context, typ, name string, args any, opts ...pulumi.ResourceOption) (*Made, error) {
	made := &Made{}
	if err := ctx.RegisterResource(typ, name, inputs(reflect.ValueOf(args)), made, opts...); err != nil {
		return nil, err
	}
	return made, nil
}

// inputs makes a property map of a struct. The typed SDKs of clouds do the same with generated
// code: that of AWS takes minutes and gigabytes to compile for the twenty types that are used here.
func inputs(v reflect.Value) pulumi.Map {
	out := pulumi.Map{}
	for i := range v.NumField() {
		tag, f := v.Type().Field(i).Tag.Get("pulumi"), v.Field(i)
		if tag == "" {
			continue
		}
		if in := input(f); in != nil {
			out[tag] = in
		}
	}
	return out
}

// input is one value; nil for one that is left out.
func input(f reflect.Value) pulumi.Input {
	switch f.Kind() {
	case reflect.Interface, reflect.Map, reflect.Pointer:
		if f.IsNil() {
			return nil
		}
	case reflect.Slice:
		if f.Len() == 0 {
			return nil
		}
	}
	if in, ok := f.Interface().(pulumi.Input); ok {
		return in
	}
	if f.Kind() == reflect.Pointer {
		return inputs(f.Elem())
	}
	if f.Kind() == reflect.Slice {
		var list pulumi.Array
		for i := range f.Len() {
			list = append(list, inputs(f.Index(i)))
		}
		return list
	}
	return inputs(f)
}
