import { type Language, languages, translations } from './type-translations.ts';
import type { TypeDefinition } from './types.ts';

/** Returns the title and description of a kind in a language (BCP 47), or in English if there is no translation. */
export function textsOf(kind: TypeDefinition, language: string): { title: string; description: string } {
  const primary = language.split('-')[0]?.toLowerCase();
  const translated: Language | undefined = languages.find((each) => each === primary);
  const [title, description] = (translated && translations[kind.type]?.[translated]) ?? [];
  return { title: title ?? kind.title, description: description ?? kind.description };
}
