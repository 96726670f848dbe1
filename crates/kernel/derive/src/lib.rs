//! The derivation of `Save` and `Saved` (`coflash_base::save`): field by field, in the order of their declaration.

use proc_macro2::{TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Fields, Ident, parse_macro_input};

/// Derive `Save`, and `Saved` unless the type is only restored in place.
///
/// - `#[save(in_place)]` on a type: an item of it cannot be loaded. An enum must have the variant that was saved.
/// - `#[save(each)]` on a field: its items are restored in place. There must be as many as were saved.
/// - `#[save(skip)]` on a field: it follows from the scenario, or it changes no result. The type is only restored in place.
#[proc_macro_derive(Save, attributes(save))]
pub fn derive_save(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive(parse_macro_input!(input)).unwrap_or_else(|error| error.into_compile_error()).into()
}

fn derive(input: DeriveInput) -> syn::Result<TokenStream> {
    let is_enum = matches!(input.data, Data::Enum(_));
    let code = Code::derive(&input, is_enum)?;
    let bounds_by = |bound: TokenStream| {
        let mut generics = input.generics.clone();
        let parameters: Vec<_> = generics.type_params().map(|parameter| parameter.ident.clone()).collect();
        let bounds = &mut generics.make_where_clause().predicates;
        for ty in code.types.iter().filter(|&ty| names_one_of(ty.clone(), &parameters)) {
            bounds.push(syn::parse_quote!(#ty: #bound));
        }
        generics
    };
    let save_generics = bounds_by(quote!(::coflash_base::save::Save));
    let (name, (generics, arguments, bounds)) = (&input.ident, save_generics.split_for_impl());
    let Code { save, restore, heap_bytes, load, in_place, .. } = &code;
    let restore = if is_enum && !in_place {
        quote!(*self = ::coflash_base::save::Saved::load(from)?; Ok(()))
    } else {
        quote!(match self { #restore } Ok(()))
    };
    let load = (!in_place).then(|| {
        let load_generics = bounds_by(quote!(::coflash_base::save::Saved));
        let (generics, arguments, bounds) = load_generics.split_for_impl();
        let body = if is_enum {
            quote!(Ok(match <u8 as ::coflash_base::save::Saved>::load(from)? {
                #load
                tag => return Err(::coflash_base::save::no_variant(tag)),
            }))
        } else {
            quote!(Ok(#load))
        };
        quote! {
            impl #generics ::coflash_base::save::Saved for #name #arguments #bounds {
                fn load(from: &mut dyn ::std::io::Read) -> ::std::io::Result<Self> { #body }
            }
        }
    });
    Ok(quote! {
        impl #generics ::coflash_base::save::Save for #name #arguments #bounds {
            fn save(&self, out: &mut dyn ::std::io::Write) -> ::std::io::Result<()> {
                match self { #save }
                Ok(())
            }
            fn restore(&mut self, from: &mut dyn ::std::io::Read) -> ::std::io::Result<()> { #restore }
            #[inline]
            fn heap_bytes(&self) -> usize {
                match self { #heap_bytes }
            }
        }
        #load
    })
}

/// The variants of a type, each as its path and its fields; a struct is one.
fn variants(input: &DeriveInput) -> syn::Result<Vec<(TokenStream, &Fields)>> {
    match &input.data {
        Data::Struct(data) => Ok(vec![(quote!(Self), &data.fields)]),
        Data::Enum(data) => {
            let each = data.variants.iter().map(|variant| (&variant.ident, &variant.fields));
            Ok(each.map(|(name, fields)| (quote!(Self::#name), fields)).collect())
        }
        Data::Union(_) => Err(syn::Error::new(input.ident.span(), "a union has no fields to save")),
    }
}

/// What is done with the variants of a type.
#[derive(Default)]
struct Code {
    /// The arms of a match of the value, to save it and to restore it in place.
    save: TokenStream,
    restore: TokenStream,
    /// As these, to sum the heap memory.
    heap_bytes: TokenStream,
    /// The value of a struct, or the arms of a match of the tag.
    load: TokenStream,
    /// The types that must be saved.
    types: Vec<TokenStream>,
    /// Whether the type is only restored in place.
    in_place: bool,
}

impl Code {
    fn derive(input: &DeriveInput, is_enum: bool) -> syn::Result<Self> {
        let mut code = Self { in_place: has(&input.attrs, "in_place")?, ..Self::default() };
        for (tag, (path, fields)) in variants(input)?.into_iter().enumerate() {
            let Parts { pattern, kept, each, bound, skips } = Parts::gather(fields)?;
            code.in_place |= skips || !each.is_empty();
            code.types.extend(bound);
            let tag = tag as u8;
            let tagged = is_enum.then(|| quote!(::coflash_base::save::Save::save(&#tag, out)?;));
            let checked = is_enum.then(|| quote!(::coflash_base::save::same_variant(#tag, from)?;));
            code.save.extend(quote!(#path #pattern => {
                #tagged
                #(::coflash_base::save::Save::save(#kept, out)?;)*
                #(
                    ::coflash_base::save::Save::save(&#each.iter().count(), out)?;
                    #each.iter().try_for_each(|item| ::coflash_base::save::Save::save(item, out))?;
                )*
            }));
            code.restore.extend(quote!(#path #pattern => {
                #checked
                #(::coflash_base::save::Save::restore(#kept, from)?;)*
                #(
                    ::coflash_base::save::same_count(#each.iter().count(), from)?;
                    #each.iter_mut().try_for_each(|item| ::coflash_base::save::Save::restore(item, from))?;
                )*
            }));
            code.heap_bytes.extend(quote!(#path #pattern => {
                0 #(+ ::coflash_base::save::Save::heap_bytes(#kept))*
                #(+ #each.iter().map(|item| {
                    ::core::mem::size_of_val(item) + ::coflash_base::save::Save::heap_bytes(item)
                }).sum::<usize>())*
            }));
            // Also a tuple has its fields by name: by their numbers.
            let names = fields.members();
            let loaded = quote!(#path { #(#names: ::coflash_base::save::Saved::load(from)?,)* });
            code.load.extend(if is_enum { quote!(#tag => #loaded,) } else { loaded });
        }
        Ok(code)
    }
}

/// The fields of a variant, taken apart.
#[derive(Default)]
struct Parts {
    pattern: TokenStream,
    /// The names that the pattern gives to fields, and to those whose items are restored in place.
    kept: Vec<Ident>,
    each: Vec<Ident>,
    /// The types of these fields, and of those items.
    bound: Vec<TokenStream>,
    /// Whether a field is not saved.
    skips: bool,
}

impl Parts {
    fn gather(fields: &Fields) -> syn::Result<Self> {
        let mut parts = Self::default();
        for (index, (field, name)) in fields.iter().zip(fields.members()).enumerate() {
            if has(&field.attrs, "skip")? {
                parts.skips = true;
                continue;
            }
            let given = format_ident!("field{index}");
            parts.pattern.extend(quote!(#name: #given,));
            let ty = &field.ty;
            if has(&field.attrs, "each")? {
                parts.each.push(given);
                parts.bound.push(quote!(<#ty as IntoIterator>::Item));
            } else {
                parts.kept.push(given);
                parts.bound.push(quote!(#ty));
            }
        }
        let pattern = parts.pattern;
        Ok(Self { pattern: quote!({ #pattern .. }), ..parts })
    }
}

/// Whether a type names one of these parameters.
fn names_one_of(ty: TokenStream, parameters: &[Ident]) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(name) => parameters.contains(&name),
        TokenTree::Group(group) => names_one_of(group.stream(), parameters),
        _ => false,
    })
}

/// Whether `#[save(word)]` is among these attributes.
fn has(attributes: &[syn::Attribute], word: &str) -> syn::Result<bool> {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("save")) {
        attribute.parse_nested_meta(|meta| {
            match meta.path.get_ident().map(ToString::to_string).as_deref() {
                Some(given @ ("skip" | "each" | "in_place")) => {
                    found |= given == word;
                    Ok(())
                }
                _ => Err(meta.error("\"skip\", \"each\" or \"in_place\"")),
            }
        })?;
    }
    Ok(found)
}
