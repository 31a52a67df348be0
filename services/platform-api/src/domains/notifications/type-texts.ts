import type { NotificationKind } from './types.ts';
import { spanish } from './types-es.ts';
import { chinese } from './types-zh.ts';

/** Title and description by type. */
export type KindTexts = Readonly<Record<string, readonly [title: string, description: string]>>;

/** Languages beside English, which the catalogue itself is in. */
export const translations: Readonly<Record<string, KindTexts>> = { es: spanish, zh: chinese };

/** Title and description of a kind in a language (BCP 47), in English where that language is not here. */
export function textsOf(kind: NotificationKind, language: string): { title: string; description: string } {
  const primary = language.split('-')[0]?.toLowerCase() ?? '';
  const [title, description] = Object.hasOwn(translations, primary) ? (translations[primary]?.[kind.type] ?? []) : [];
  return { title: title ?? kind.title, description: description ?? kind.description };
}
