import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { usePreferences } from '../format/preferences-context.ts';
import { pathOfLetter } from './pages.ts';

/** Time for the letter after `g`. */
const sequenceMs = 1_500;

/** Returns whether a key belongs to the field or the control that has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}

interface ShortcutActions {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

/** Moves the focus to the search field of the page. Returns whether there is one. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>('main [type=search], main [data-search]');
  field?.focus();
  return field !== null;
}

/**
 * Handles the keys of every page: `Ctrl+K` opens the palette, `?` the table of keys, `/` the search of the page, and
 * `g` with a letter a page. The preference `dashboard.single_keys` switches all but `Ctrl+K` off.
 */
export function useShortcuts({ openPalette, openHelp }: ShortcutActions): void {
  const router = useRouter();
  const hasSingleKeys = usePreferences()?.dashboard['single_keys'] !== false;
  useEffect(() => {
    let isAfterGSinceMs = Number.NEGATIVE_INFINITY;
    const onSingleKey = (event: KeyboardEvent): boolean => {
      const path = event.timeStamp - isAfterGSinceMs < sequenceMs ? pathOfLetter(event.key) : undefined;
      isAfterGSinceMs = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (path !== undefined) router.history.push(path);
      else if (event.key === '?') openHelp();
      else return event.key === '/' && focusSearch();
      return true;
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || event.altKey) return;
      const hasModifier = event.ctrlKey || event.metaKey;
      if (hasModifier && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
      } else if (!hasModifier && hasSingleKeys && !isTyping(event.target) && onSingleKey(event)) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [router, hasSingleKeys, openPalette, openHelp]);
}
