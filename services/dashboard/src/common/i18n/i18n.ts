import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { chooseLanguage, type Language } from './languages.ts';

export type Messages = Record<string, unknown>;

/** Returns the messages of a language by path, such as `/src/scenes/map/messages/en.json`. */
type LoadMessages = (language: Language) => Promise<Readonly<Record<string, Messages>>>;

/** Loads the messages of this page. */
let loadMessages: LoadMessages = () => Promise.resolve({});

/** Returns the folder above `messages`: the namespace of a file. */
const toNamespace = (path: string): string => path.split('/').at(-3) ?? '';

async function addLanguage(language: Language): Promise<void> {
  for (const [path, messages] of Object.entries(await loadMessages(language)))
    i18next.addResourceBundle(language, toNamespace(path), messages);
}

/** Loads the messages of the browser's language and of English, which fills missing ones. */
export async function startI18n(load: LoadMessages): Promise<void> {
  loadMessages = load;
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
