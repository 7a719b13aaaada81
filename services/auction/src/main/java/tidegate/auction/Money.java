package tidegate.auction;

import java.util.Locale;

/** An amount of money, in cents. */
public record Money(long cents) implements Comparable<Money> {
    /** Reads {@code 12}, {@code 12.3} or {@code 12.34}; null if it is no amount. */
    static Money parse(String text) {
        if (text == null || !text.matches("\\d{1,9}(\\.\\d{1,2})?")) {
            return null;
        }
        String[] parts = text.split("\\.");
        String cents = parts.length == 1 ? "00" : (parts[1] + "0").substring(0, 2);
        return new Money(100 * Long.parseLong(parts[0]) + Long.parseLong(cents));
    }

    /** As an input of a form has it: {@code 12.34}. */
    public String plain() {
        return String.format(Locale.ROOT, "%d.%02d", cents / 100, cents % 100);
    }

    /** As a page shows it. */
    public String shown() {
        return String.format(Locale.ROOT, "%,d.%02d", cents / 100, cents % 100);
    }

    @Override
    public int compareTo(Money other) {
        return Long.compare(cents, other.cents);
    }
}
