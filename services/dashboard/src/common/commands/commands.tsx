import { IconKeyboard, IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useCallback, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useShortcuts } from './use-shortcuts.ts';

const CommandPalette = lazy(() =>
  import('./command-palette.tsx').then((module) => ({ default: module.CommandPalette })),
);
const KeyboardHelp = lazy(() => import('./keyboard-help.tsx').then((module) => ({ default: module.KeyboardHelp })));

/** Provides buttons and keys that open the palette and the table of keys. Each is loaded when it is first opened. */
export function Commands() {
  const { t } = useTranslation();
  const [opened, setOpened] = useState<'palette' | 'help' | null>(null);
  const openPalette = useCallback(() => setOpened('palette'), []);
  const openHelp = useCallback(() => setOpened('help'), []);
  const close = useCallback(() => setOpened(null), []);
  useShortcuts({ openPalette, openHelp });
  return (
    <>
      <button type="button" className="nav-secondary" onClick={openPalette} aria-keyshortcuts="Control+K">
        <IconSearch size={20} aria-hidden />
        <span>{t('nav.search')}</span>
      </button>
      <button type="button" className="nav-secondary" onClick={openHelp} aria-keyshortcuts="?">
        <IconKeyboard size={20} aria-hidden />
        <span>{t('nav.keys')}</span>
      </button>
      <Suspense>
        {opened === 'palette' ? <CommandPalette onClose={close} /> : null}
        {opened === 'help' ? <KeyboardHelp onClose={close} /> : null}
      </Suspense>
    </>
  );
}
