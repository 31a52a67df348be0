import type { Messages } from './i18n.ts';
import type { Language } from './languages.ts';

// One file for each language: a browser loads it with one request.
const files: Readonly<Record<Language, () => Promise<{ messages: Readonly<Record<string, Messages>> }>>> = {
  en: () => import('./all-messages.en.ts'),
  zh: () => import('./all-messages.zh.ts'),
  es: () => import('./all-messages.es.ts'),
};

/** Loads the messages of all pages in a language. */
export const loadAllMessages = async (language: Language): Promise<Readonly<Record<string, Messages>>> =>
  (await files[language]()).messages;
