import type { NotificationKind } from './types.ts';
import { spanish } from './types-es.ts';
import { chinese } from './types-zh.ts';

/** Title and description by type. */
export type KindTexts = Readonly<Record<string, readonly [title: string, description: string]>>;

/** Translations of the catalogue, which itself is in English. */
export const translations: Readonly<Record<string, KindTexts>> = { es: spanish, zh: chinese };

/** Returns the title and description of a kind in a language (BCP 47), or in English if there is no translation. */
export function textsOf(kind: NotificationKind, language: string): { title: string; description: string } {
  const primary = language.split('-')[0]?.toLowerCase() ?? '';
  const [title, description] = Object.hasOwn(translations, primary) ? (translations[primary]?.[kind.type] ?? []) : [];
  return { title: title ?? kind.title, description: description ?? kind.description };
}
