import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { chooseLanguage, type Language } from './languages.ts';

type Messages = Record<string, unknown>;

/** Files such as `/src/scenes/map/messages/en.json`: the folder above `messages` is the namespace. */
const files = import.meta.glob<Messages>('/src/**/messages/*.json', { import: 'default' });

/** Namespaces of the page; undefined for all of them. */
let wantedNamespaces: readonly string[] | undefined;

async function loadMessages(language: Language): Promise<Record<string, Messages>> {
  const suffix = `/messages/${language}.json`;
  const toNamespace = (path: string): string => path.slice(0, -suffix.length).split('/').at(-1) ?? '';
  const paths = Object.keys(files).filter(
    (path) => path.endsWith(suffix) && (wantedNamespaces?.includes(toNamespace(path)) ?? true),
  );
  const loaded = await Promise.all(paths.map(async (path) => [toNamespace(path), await files[path]?.()] as const));
  return Object.fromEntries(loaded.map(([namespace, messages]) => [namespace, messages ?? {}]));
}

async function addLanguage(language: Language): Promise<void> {
  for (const [namespace, messages] of Object.entries(await loadMessages(language)))
    i18next.addResourceBundle(language, namespace, messages);
}

/** Loads the messages of the browser's language and of English, which fills missing ones: all, or those of the namespaces. */
export async function startI18n(namespaces?: readonly string[]): Promise<void> {
  wantedNamespaces = namespaces;
  const language = chooseLanguage(navigator.languages);
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: 'en',
    defaultNS: 'common',
    interpolation: { escapeValue: false },
    resources: {},
  });
  await Promise.all([addLanguage('en'), addLanguage(language)]);
  document.documentElement.lang = language;
}

/** Switches the page to another language. */
export async function changeLanguage(wanted: string): Promise<void> {
  const language = chooseLanguage([wanted]);
  if (i18next.language === language) return;
  await addLanguage(language);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}
