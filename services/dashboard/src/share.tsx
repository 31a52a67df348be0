import { type ReactNode, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { type Messages, startI18n } from './common/i18n/i18n.ts';
import type { Language } from './common/i18n/languages.ts';
import { ThemeContext } from './common/theme/theme-context.ts';
import { type Theme, toCssVariables } from './common/theme/tokens.ts';
import { SharePage } from './scenes/share/page.tsx';

// The page for guests of share links. It has neither a session nor the router and the components of the signed-in page.

const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
const readTheme = (): Theme => (darkQuery.matches ? 'dark' : 'light');

/** Writes the colours of the theme where the stylesheets read them. */
function applyTheme(): void {
  const { style } = document.documentElement;
  style.setProperty('color-scheme', readTheme());
  for (const [name, value] of Object.entries(toCssVariables(readTheme()))) style.setProperty(name, value);
}

function subscribeToTheme(onChange: () => void): () => void {
  darkQuery.addEventListener('change', onChange);
  return () => darkQuery.removeEventListener('change', onChange);
}

function DeviceTheme({ children }: { readonly children: ReactNode }) {
  return <ThemeContext value={useSyncExternalStore(subscribeToTheme, readTheme)}>{children}</ThemeContext>;
}

applyTheme();
darkQuery.addEventListener('change', applyTheme);

const files = import.meta.glob<Messages>(['/src/common/messages/*.json', '/src/scenes/share/messages/*.json'], {
  import: 'default',
});

/** Loads the messages that this page shows. */
async function loadMessages(language: Language): Promise<Record<string, Messages>> {
  const wanted = Object.entries(files).filter(([path]) => path.endsWith(`/${language}.json`));
  return Object.fromEntries(await Promise.all(wanted.map(async ([path, load]) => [path, await load()] as const)));
}

const element = document.getElementById('root');
if (element === null) throw new Error('The page has no element #root.');
const [, , slug = ''] = window.location.pathname.split('/');

await startI18n(loadMessages);
createRoot(element).render(
  <DeviceTheme>
    <SharePage slug={slug} />
  </DeviceTheme>,
);
