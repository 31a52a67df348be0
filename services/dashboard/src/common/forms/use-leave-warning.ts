import { useBlocker } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';

/** Requires a confirmation before the page is left while a form has changes that are not saved. */
export function useLeaveWarning(isChanged: boolean): void {
  const { t } = useTranslation();
  useBlocker({
    // A page that only changes its own search parameters is not left.
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && !globalThis.confirm(t('form.leave')),
    disabled: !isChanged,
    enableBeforeUnload: isChanged,
  });
}
