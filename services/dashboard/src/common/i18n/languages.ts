/** Languages of the page. English is complete by definition; a test compares the others with it. */
export const languages = ['en', 'zh', 'es'] as const;
export type Language = (typeof languages)[number];

/** Returns the best language for a list of preferences such as `['es-MX', 'en']`. */
export function chooseLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const found = languages.find((language) => tag.toLowerCase().split('-', 1)[0] === language);
    if (found !== undefined) return found;
  }
  return 'en';
}
