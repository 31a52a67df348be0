import { Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Empty, Failure } from './states.tsx';

/** How browsers describe a part of the page that the server no longer has. */
const missingPart = /dynamically imported module|importing a module script|unable to preload/i;

/** Shows why a page could not be drawn. After a new version was deployed, the parts of the old one are gone. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  const { t } = useTranslation();
  const isMissing = error instanceof Error && missingPart.test(error.message);
  if (!isMissing) return <Failure error={error} onRetry={reset} />;
  return (
    <Empty title={t('newVersion.title')}>
      <p role="alert">{t('newVersion.text')}</p>
      <Button onClick={() => window.location.reload()}>{t('newVersion.reload')}</Button>
    </Empty>
  );
}
