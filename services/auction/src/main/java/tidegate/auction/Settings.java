package tidegate.auction;

import java.util.Map;

/**
 * What the environment says about the site.
 *
 * @param database JDBC URL of H2 or PostgreSQL
 * @param scale size of the population, relative to that of RUBiS
 * @param connections most connections of the pool
 * @param passwordRounds iterations of PBKDF2 for each password
 */
record Settings(String database, double scale, int connections, int passwordRounds) {
    private static final String IN_MEMORY = "jdbc:h2:mem:auction;DB_CLOSE_DELAY=-1";

    /**
     * Reads the variables {@code AUCTION_*}.
     *
     * @throws IllegalArgumentException naming the variable, its rule and a value that works
     */
    static Settings of(Map<String, String> environment) {
        String database = environment.getOrDefault("AUCTION_DATABASE", IN_MEMORY);
        if (!database.startsWith("jdbc:h2:") && !database.startsWith("jdbc:postgresql:")) {
            throw new IllegalArgumentException("AUCTION_DATABASE = " + database
                    + ": must be a JDBC URL of H2 or PostgreSQL; try " + IN_MEMORY);
        }
        return new Settings(
                database,
                number(environment, "AUCTION_SCALE", 0.0005, 1, 0.01),
                (int) number(environment, "AUCTION_CONNECTIONS", 1, 1000, 20),
                (int) number(environment, "AUCTION_PASSWORD_ROUNDS", 1, 10_000_000, 600));
    }

    private static double number(
            Map<String, String> environment, String name, double least, double most, double unset) {
        String text = environment.get(name);
        if (text == null) {
            return unset;
        }
        double value;
        try {
            value = Double.parseDouble(text);
        } catch (NumberFormatException error) {
            value = Double.NaN;
        }
        if (!(value >= least && value <= most)) {
            throw new IllegalArgumentException(
                    name + " = " + text + ": must be a number from " + least + " to " + most + "; try " + unset);
        }
        return value;
    }
}
