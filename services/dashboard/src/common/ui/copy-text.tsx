import { Button, CopyButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Shows a button that copies a text and confirms it. */
export function CopyText({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" onClick={copy}>
          {copied ? t('action.copied') : (label ?? t('action.copy'))}
        </Button>
      )}
    </CopyButton>
  );
}
