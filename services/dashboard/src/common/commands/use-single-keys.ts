import { useEffect, useRef } from 'react';
import { usePreferences } from '../format/preferences-context.ts';
import { isTyping } from './use-shortcuts.ts';

/**
 * Handles single keys of a page, unless a field has the focus or a shortcut of every page has used the key. The
 * preference `dashboard.single_keys` switches all but `Escape` off.
 */
export function useSingleKeys(handlers: Readonly<Record<string, () => void>>): void {
  const hasSingleKeys = usePreferences()?.dashboard['single_keys'] !== false;
  const newest = useRef(handlers);
  newest.current = handlers;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey;
      if (event.defaultPrevented || hasModifier || isTyping(event.target)) return;
      if (!hasSingleKeys && event.key !== 'Escape') return;
      newest.current[event.key]?.();
    };
    // After the shortcuts of every page, which listen at the document.
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [hasSingleKeys]);
}
