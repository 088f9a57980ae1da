//! Enums whose variants have names in files.

/// An enum that is written and read by the names of its variants. `ALL` has the variants in their order, `name` and `Display`
/// give the name of one, and `from_name` finds the variant of a name.
#[doc(hidden)]
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$about:meta])*
        pub enum $kind:ident {
            $($(#[$meaning:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $kind {
            $($(#[$meaning])* #[serde(rename = $name)] $variant,)+
        }

        impl $kind {
            /// Every variant, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The variant of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
